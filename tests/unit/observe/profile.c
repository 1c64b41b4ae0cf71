/* The heap profile of a process: what is believed of it, and what its code is called. */
#include "observe/profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "observe/dwarf.h"
#include "observe/elf_file.h"
#include "observe/stacks.h"
#include "observe/text.h"

static struct ebb_profile_node nodes[8] = {{0, 0, 0}, {100, 0, 1}, {200, 1, 1}, {300, 2, 1}};
static struct ebb_profile_site sites[2] = {{3, 1, 1000, 10, 2000, 20}, {2, 1, 50, 1, 50, 1}};
static struct ebb_profile_module modules[2] = {{0}, {.start = 50, .end = 400, .path = "/bin/a\033b"}};
static struct ebb_shared_profile shared;

static void reset(void)
{
	shared = (struct ebb_shared_profile){
		.magic = EBB_PROFILE_MAGIC,
		.version = EBB_PROFILE_VERSION,
		.size_bytes = sizeof(shared),
		.interval_bytes = 100,
		.nodes_at = (uintptr_t)nodes,
		.sites_at = (uintptr_t)sites,
		.modules_at = (uintptr_t)modules,
		.node_bytes = sizeof(nodes[0]),
		.site_bytes = sizeof(sites[0]),
		.module_bytes = sizeof(modules[0]),
		.nodes = 4,
		.sites = 2,
		.modules = 2,
	};
}

static int read_own(void *context, uint64_t address, void *ret_bytes, size_t size)
{
	(void)context;
	memcpy(ret_bytes, (const void *)(uintptr_t)address, size);
	return 0;
}

static int load(struct profile *profile, uint32_t *version)
{
	struct profile_reader reader = {.read = read_own};

	return ebbi_profile_load(&reader, (uintptr_t)&shared, profile, version);
}

TEST(a_profile_as_it_should_be)
{
	struct profile profile;
	uint32_t version;

	reset();
	REQUIRE(load(&profile, &version) == 0);
	CHECK_EQ(version, EBB_PROFILE_VERSION);
	CHECK_EQ(profile.interval_bytes, 100u);
	CHECK(profile.node_count == 4 && profile.site_count == 2 && profile.module_count == 2);
	CHECK_EQ(profile.nodes[3].address, 300u);
	CHECK_EQ(profile.sites[0].live_bytes, 1000u);
	CHECK_STR_EQ(profile.modules[1].path, "/bin/a?b");
	ebbi_profile_free(&profile);
}

TEST(longer_entries)
{
	static struct {
		struct ebb_profile_site site;
		uint64_t of_the_future[3];
	} longer[2] = {{{3, 1, 7, 1, 7, 1}, {9, 9, 9}}, {{1, 0, 8, 1, 8, 1}, {9, 9, 9}}};
	struct profile profile;
	uint32_t version;

	reset();
	shared.sites_at = (uintptr_t)longer;
	shared.site_bytes = sizeof(longer[0]);
	REQUIRE(load(&profile, &version) == 0);
	CHECK_EQ(profile.sites[0].live_bytes, 7u);
	CHECK_EQ(profile.sites[1].live_bytes, 8u);
	ebbi_profile_free(&profile);
}

TEST(other_versions)
{
	struct profile profile;
	uint32_t version;

	reset();
	shared.version = 7;
	CHECK_EQ(load(&profile, &version), -EPROTO);
	CHECK_EQ(version, 7u);
	reset();
	shared.magic = 1;
	CHECK_EQ(load(&profile, &version), -EPROTO);
	CHECK_EQ(version, 0u);
	reset();
	shared.size_bytes = sizeof(shared) - 1;
	CHECK_EQ(load(&profile, &version), -EPROTO);
	reset();
	shared.node_bytes = sizeof(nodes[0]) - 1;
	CHECK_EQ(load(&profile, &version), -EPROTO);
	reset();
	shared.sites = UINT32_MAX;
	CHECK_EQ(load(&profile, &version), -EPROTO);
	reset();
	shared.module_bytes = UINT32_MAX;
	CHECK_EQ(load(&profile, &version), -EPROTO);
	reset();
	shared.nodes_at = UINT64_MAX - 8;
	CHECK_EQ(load(&profile, &version), -EPROTO);
}

TEST(nothing_sampled_yet)
{
	struct profile profile;
	uint32_t version;

	reset();
	shared.nodes_at = shared.sites_at = shared.modules_at = 0;
	shared.nodes = shared.sites = shared.modules = 0;
	REQUIRE(load(&profile, &version) == 0);
	CHECK(profile.node_count == 1 && profile.site_count == 0 && profile.module_count == 1);
	ebbi_profile_free(&profile);
}

TEST(what_cannot_be)
{
	const struct ebb_profile_node cyclic[8] = {{0, 5, 9}, {1, 2, 1}, {2, 1, 1}, {3, 3, 8}, {4, 77, 1}};
	struct ebb_profile_node kept[8];
	struct profile profile;
	uint32_t version;

	reset();
	memcpy(kept, nodes, sizeof(kept));
	memcpy(nodes, cyclic, sizeof(nodes));
	shared.nodes = 5;
	sites[1].node = 1000;
	sites[1].owner = 1000;
	sites[1].live_bytes = UINT64_MAX;
	modules[1].build_id_bytes = 200;
	REQUIRE(load(&profile, &version) == 0);
	for (uint32_t i = 0; i < profile.node_count; i++) {
		CHECK(i == 0 ? profile.nodes[i].parent == 0 : profile.nodes[i].parent < i);
		CHECK_LT(profile.nodes[i].module, profile.module_count);
	}
	CHECK(profile.sites[1].node == 0 && profile.sites[1].owner == 0 && profile.sites[1].live_bytes == 0);
	CHECK_EQ(profile.modules[1].build_id_bytes, 0u);
	ebbi_profile_free(&profile);
	memcpy(nodes, kept, sizeof(nodes));
	sites[1] = (struct ebb_profile_site){2, 1, 50, 1, 50, 1};
	modules[1].build_id_bytes = 0;
}

TEST(stacks_without_names)
{
	struct profile profile;
	struct stacks stacks;
	uint32_t version;

	reset();
	REQUIRE(load(&profile, &version) == 0);
	REQUIRE(ebbi_stacks_make(&profile, NULL, &stacks) == 0);
	CHECK_EQ(stacks.place_count, 3u);
	CHECK_EQ(stacks.function_count, 1u);
	CHECK_STR_EQ(stacks.functions[0].name, "[a?b]");
	CHECK(!stacks.functions[0].known);
	/* 10 objects of 100 bytes, sampled every 100 bytes: p = 1 - 1/e. */
	CHECK(stacks.samples[0] > 6.3 && stacks.samples[0] < 6.4);
	CHECK(stacks.variance[0] > 58190 && stacks.variance[0] < 58200);
	ebbi_stacks_free(&stacks);
}

TEST(names)
{
	char *name = ebbi_demangle("_ZN4shop6BasketIlE3putERKl");
	char text[] = "caf\xc3\xa9\n\xc2\x9b", broken[] = "a\xc3(";

	CHECK_STR_EQ(name, "shop::Basket<long>::put");
	free(name);
	name = ebbi_demangle("_ZN4core3fmt5write17h0123456789abcdefE");
	CHECK_STR_EQ(name, "core::fmt::write");
	free(name);
	name = ebbi_demangle("_RNvCs1234_7mycrate3foo");
	CHECK_STR_EQ(name, "mycrate::foo");
	free(name);
	CHECK(ebbi_demangle("parse_request") == NULL);
	ebbi_text_clean(text);
	CHECK_STR_EQ(text, "caf\xc3\xa9???");
	ebbi_text_clean(broken);
	CHECK_STR_EQ(broken, "a?(");
}

TEST(plumbing)
{
	CHECK(ebbi_stacks_plumbing("libstdc++.so.6", "anything"));
	CHECK(ebbi_stacks_plumbing("libc.so.6", "strdup"));
	CHECK(ebbi_stacks_plumbing("server", "operator new"));
	CHECK(ebbi_stacks_plumbing("server", "std::vector<int>::push_back"));
	CHECK(ebbi_stacks_plumbing("server", "malloc"));
	CHECK(!ebbi_stacks_plumbing("server", "malloc_checked"));
	CHECK(!ebbi_stacks_plumbing("libcurl.so.4", "curl_easy_init"));
	CHECK(!ebbi_stacks_plumbing("server", "main"));
}

struct found {
	int count;
	char name[64];
};

static void note(void *context, const struct symbol_frame *frame)
{
	struct found *found = context;

	if (found->count++ == 0)
		snprintf(found->name, sizeof(found->name), "%s", frame->name);
}

static void set_build_id(struct ebb_profile_module *module, const char *digits)
{
	for (; digits[0] && digits[1]; digits += 2) {
		char byte[] = {digits[0], digits[1], 0};

		module->build_id[module->build_id_bytes++] = (uint8_t)strtoul(byte, NULL, 16);
	}
}

/* Our own code, from our own file; and not from a file with another build id. */
TEST(symbols)
{
	struct ebb_profile_module table[3] = {{0}};
	struct profile profile = {.module_count = 3, .modules = table};
	struct found right = {0}, wrong = {0}, none = {0};
	struct symbols *symbols;
	struct elf_info info;
	Dl_info own;
	ssize_t length = readlink("/proc/self/exe", table[1].path, sizeof(table[1].path) - 1);

	REQUIRE(length > 0 && ebbi_elf_read_path("/proc/self/exe", &info) == 0);
	REQUIRE(!ebbi_dwarf_missing());
	REQUIRE(dladdr((void *)note, &own) != 0);
	table[1].bias = (uintptr_t)own.dli_fbase;
	set_build_id(&table[1], info.build_id);
	table[2] = table[1];
	table[2].build_id[table[2].build_id_bytes++] = 1;
	symbols = ebbi_symbols_open(getpid(), &profile);
	REQUIRE(symbols);
	ebbi_symbols_find(symbols, 1, (uintptr_t)note, note, &right);
	ebbi_symbols_find(symbols, 2, (uintptr_t)note, note, &wrong);
	ebbi_symbols_find(symbols, 0, (uintptr_t)note, note, &none);
	CHECK_STR_EQ(right.name, "note");
	CHECK(right.count == 1 && wrong.count == 0 && none.count == 0);
	ebbi_symbols_close(symbols);
}

int main(void)
{
	RUN(a_profile_as_it_should_be);
	RUN(longer_entries);
	RUN(other_versions);
	RUN(nothing_sampled_yet);
	RUN(what_cannot_be);
	RUN(stacks_without_names);
	RUN(names);
	RUN(plumbing);
	RUN(symbols);
	return check_report();
}
