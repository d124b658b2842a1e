/*
 * A slow disk for one broker, as a library to preload. While the file SLOW_WRITES exists, each write to a log
 * segment (00000000000000000000.log) whose path contains SLOW_WRITES_OF takes SLOW_WRITES_US longer.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_segment(const char *path) {
    const char *name = strrchr(path, '/');
    if (name == NULL || !isdigit((unsigned char)name[1])) return 0;
    return strcmp(name + 1 + strspn(name + 1, "0123456789"), ".log") == 0;
}

static void wait_for(int fd) {
    const char *flag = getenv("SLOW_WRITES"), *of = getenv("SLOW_WRITES_OF"), *us = getenv("SLOW_WRITES_US");
    char link[64], path[4096];
    if (flag == NULL || of == NULL || us == NULL || access(flag, F_OK) != 0) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return;
    path[n] = '\0';
    if (strstr(path, of) != NULL && is_segment(path)) usleep((useconds_t)atoi(us));
}

#define SLOW(name, parameters, arguments)                                              \
    ssize_t name parameters {                                                          \
        static ssize_t(*real) parameters;                                              \
        if (real == NULL) real = (ssize_t(*) parameters)dlsym(RTLD_NEXT, #name);       \
        wait_for(fd);                                                                  \
        return real arguments;                                                         \
    }

SLOW(write, (int fd, const void *bytes, size_t n), (fd, bytes, n))
SLOW(pwrite, (int fd, const void *bytes, size_t n, off_t at), (fd, bytes, n, at))
SLOW(pwrite64, (int fd, const void *bytes, size_t n, off64_t at), (fd, bytes, n, at))
SLOW(writev, (int fd, const struct iovec *parts, int n), (fd, parts, n))
