/*
 * A library to preload: a host whose clock steps and whose disk is slow, while its processes run. HOST_CONTROL names
 * a file of two 64-bit numbers: nanoseconds to add to the system clock, and microseconds that each fsync takes longer.
 * Monotonic clocks and the times of files are those of the machine.
 * A C11 wait (librdkafka) that began ahead lasts until this machine's clock is there, as after a step back of a host.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none[2], *control = none;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("HOST_CONTROL");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    void *mapped = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) control = mapped;
    close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, at);
    if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
    int64_t ns = (int64_t)at->tv_sec * 1000000000 + at->tv_nsec + control[0];
    at->tv_sec = ns / 1000000000;
    at->tv_nsec = ns % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

/* A deadline of the system clock; a monotonic one is much smaller. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *at) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    if (real == NULL) real = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (real == NULL) real = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    struct timespec until = *at;
    if (until.tv_sec > 1000000000) until.tv_sec -= control[0] / 1000000000;
    return real(condition, mutex, &until);
}

time_t time(time_t *at) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    if (at != NULL) *at = now.tv_sec;
    return now.tv_sec;
}

#define SLOW(name)                                                                 \
    int name(int fd) {                                                             \
        static int (*real)(int);                                                   \
        if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, #name);            \
        if (control[1] > 0) {                                                      \
            struct timespec left = {control[1] / 1000000, control[1] % 1000000 * 1000}; \
            while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;       \
        }                                                                          \
        return real(fd);                                                           \
    }

SLOW(fsync)
SLOW(fdatasync)
