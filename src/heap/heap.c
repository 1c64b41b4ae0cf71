#include "heap/heap.h"

#include <ebb/ebb.h>

#include <string.h>
#include <sys/auxv.h>

#include "heap/budget.h"
#include "heap/hardened.h"
#include "heap/inside.h"
#include "heap/scavenger.h"
#include "platform/environment.h"
#include "platform/membarrier.h"
#include "platform/report.h"
#include "platform/thread.h"

struct ebbi_heap ebbi_heap;

enum { BOOT_NOT, BOOT_UNDER_WAY, BOOT_DONE };

static uint32_t boot_state; /* futex; acquire/release: DONE publishes everything boot wrote */

static void complain(const char *line, size_t length)
{
	char text[400];
	size_t room = sizeof(text) - sizeof("ebb: ");

	memcpy(text, "ebb: ", 5);
	length = ebbi_min_size(length, room);
	memcpy(text + 5, line, length);
	text[5 + length] = '\n';
	ebbi_report_write(text, length + 6);
}

static enum ebbi_huge_advice advice(const struct ebbi_config *config)
{
	uint64_t hugepages = config->hugepages;

	/* Who gives nothing back needs to say nothing, and may have no right to: see option purge. */
	if (hugepages == EBB_HUGEPAGES_DEFAULT)
		return config->purge ? EBBI_HUGE_ADVICE_SYSTEM : EBBI_HUGE_ADVICE_NONE;
	return hugepages == EBB_HUGEPAGES_ON ? EBBI_HUGE_ADVICE_ON : EBBI_HUGE_ADVICE_OFF;
}

static void boot(void)
{
	struct ebbi_config *config = &ebbi_heap.config;
	struct ebbi_registry *registry = &ebbi_heap.registry;
	char text[1024];

	ebbi_config_defaults(config);
	/* A program that runs with more rights than its caller takes no orders from the caller. */
	if (getauxval(AT_SECURE) == 0 && ebbi_environment_read("EBB_CONF", text, sizeof(text)))
		ebbi_config_parse(config, text, complain);
	ebbi_store_init(&ebbi_heap.store, &ebbi_vm_kernel, ebbi_vm_page_bytes(), advice(config));
	ebbi_large_init(&ebbi_heap.large, &ebbi_heap.store);
	ebbi_registry_init(registry, &ebbi_heap.store, &ebbi_heap.large);
	ebbi_heap.store.pages.purge_off = !config->purge;
	registry->full_check = config->check == EBB_CHECK_FULL;
	registry->keep_shelves = !config->purge;
	registry->standing_stop = config->zero_on_free || registry->full_check ? EBBI_STOP_SLOW : 0;
	if (config->hardened)
		ebbi_hardened_init();
	if (!config->purge)
		ebbi_heap.features_off |= EBB_OFF_PURGE;
	if (!config->membarrier)
		ebbi_membarrier_close();
	if (!config->membarrier || ebbi_membarrier_open(NULL) != 0)
		ebbi_heap.features_off |= EBB_OFF_MEMBARRIER;
	if (!config->scavenger)
		ebbi_scavenger_give_up();
	(void)ebbi_thread_exit_key_create();
	if (config->budget != 0)
		ebbi_budget_boot(config->budget);
}

void ebbi_heap_boot(void)
{
	uint32_t expected = BOOT_NOT;
	uint64_t mask;

	if (EBBI_LIKELY(ebbi_load_acquire(&boot_state) == BOOT_DONE))
		return;
	/* A handler must not find its own thread half way through. */
	ebbi_signals_block(&mask);
	if (ebbi_cas_acquire(&boot_state, &expected, BOOT_UNDER_WAY)) {
		boot();
		ebbi_store_release(&boot_state, BOOT_DONE);
		ebbi_futex_wake(&boot_state, INT32_MAX);
	} else {
		while (ebbi_load_acquire(&boot_state) != BOOT_DONE)
			(void)ebbi_futex_wait(&boot_state, BOOT_UNDER_WAY, -1);
	}
	ebbi_signals_restore(&mask);
}

size_t ebbi_heap_purge(void)
{
	struct ebbi_cache *cache = ebbi_thread_cache();
	size_t left;
	size_t purged;

	if (cache == NULL || ebbi_heap_enter(cache) == EBBI_NESTED)
		return 0;
	(void)ebbi_cache_drain(&ebbi_heap.registry.pool, cache);
	purged = ebbi_scavenger_look(cache, /* everything= */ true, &left);
	ebbi_handshake_leave(&cache->handshake);
	return purged;
}

void ebbi_heap_check(void)
{
	struct ebbi_cache *cache = ebbi_thread_cache();

	if (cache == NULL || ebbi_heap_enter(cache) == EBBI_NESTED)
		return;
	for (struct ebbi_stand *stand = &cache->home; stand != NULL; stand = stand->next)
		ebbi_shelf_check(stand->shelf);
	for (struct ebbi_bin *bin = NULL; (bin = ebbi_store_next_bin(&ebbi_heap.store, bin)) != NULL;)
		ebbi_bin_check(bin);
	ebbi_pages_check(&ebbi_heap.store.pages);
	ebbi_meta_check(&ebbi_heap.store.meta);
	ebbi_handshake_leave(&cache->handshake);
}
