/*
 * build.h: which build this is, as constants that ordinary `if` can test.
 *
 * Owns: EBBI_CHECKED, EBBI_PARANOID, EBBI_TSAN, EBBI_ASAN, each 0 or 1, EBBI_LOCK_TIMES and EBBI_OWN.
 * Never does: decide anything. `#if` on compiler or sanitizer macros lives here and in platform/.
 * Threading, errors: none.
 * Invariants: a paranoid build is also a checked one.
 *
 * The build system defines EBB_CHECKED or EBB_PARANOID to 1; the sanitizers announce themselves.
 */
#ifndef EBBI_BASE_BUILD_H
#define EBBI_BASE_BUILD_H

#if defined(EBB_PARANOID) && EBB_PARANOID
#define EBBI_PARANOID 1
#else
#define EBBI_PARANOID 0
#endif

#if EBBI_PARANOID || (defined(EBB_CHECKED) && EBB_CHECKED)
#define EBBI_CHECKED 1
#else
#define EBBI_CHECKED 0
#endif

/*
 * For measuring alone, see platform/locktimes.h: how long locks are held and waited for. 1: by the clock,
 * 2: by the CPU time of the thread. cmake -DCMAKE_C_FLAGS=-DEBB_LOCK_TIMES=1
 */
#if defined(EBB_LOCK_TIMES)
#define EBBI_LOCK_TIMES EBB_LOCK_TIMES
#else
#define EBBI_LOCK_TIMES 0
#endif

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EBBI_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define EBBI_ASAN 1
#endif
#endif

#if !defined(EBBI_TSAN)
#if defined(__SANITIZE_THREAD__)
#define EBBI_TSAN 1
#else
#define EBBI_TSAN 0
#endif
#endif

#if !defined(EBBI_ASAN)
#if defined(__SANITIZE_ADDRESS__)
#define EBBI_ASAN 1
#else
#define EBBI_ASAN 0
#endif
#endif

/*
 * For declarations of data: it is in this library, so that it is reached without a look at the table of global
 * offsets. The compiler's -fvisibility=hidden holds for definitions only.
 */
#define EBBI_OWN __attribute__((visibility("hidden")))

#endif
