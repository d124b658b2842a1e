/*
 * A library to preload that records what a power cut cannot take away: each file and folder below POWER_ROOT as
 * it was at its last fsync, in POWER_SHADOW. A file's copy is `f-KEY`; a folder's is `d-KEY`, one line
 * `KEY KIND NAME` per entry. A key is inode and birth time, because a file system reuses inodes.
 * With SYNC_OFF nothing is recorded and nothing is synced: what a job would cost without.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int key_of(int at, const char *name, char *key, size_t size, mode_t *mode) {
    struct statx state;
    int flags = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);
    if (statx(at, name, flags, STATX_INO | STATX_MODE | STATX_BTIME, &state) != 0) return -1;
    snprintf(key, size, "%llu-%lld-%u", (unsigned long long)state.stx_ino,
             (long long)state.stx_btime.tv_sec, state.stx_btime.tv_nsec);
    *mode = state.stx_mode;
    return 0;
}

static int copy_folder(int fd, FILE *to) {
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    if (folder == NULL) return -1;
    for (struct dirent *each; (each = readdir(folder)) != NULL;) {
        char key[96];
        mode_t mode;
        if (!strcmp(each->d_name, ".") || !strcmp(each->d_name, "..")) continue;
        if (key_of(fd, each->d_name, key, sizeof key, &mode) != 0) continue;
        fprintf(to, "%s %c %s\n", key, S_ISDIR(mode) ? 'd' : 'f', each->d_name);
    }
    closedir(folder);
    return 0;
}

static int copy_file(const char *path, FILE *to) {
    char bytes[1 << 16];
    int from = open(path, O_RDONLY);
    if (from < 0) return -1;
    for (ssize_t n; (n = read(from, bytes, sizeof bytes)) > 0;) fwrite(bytes, 1, (size_t)n, to);
    close(from);
    return 0;
}

static void record(int fd) {
    const char *root = getenv("POWER_ROOT"), *shadow = getenv("POWER_SHADOW");
    char link[64], path[4096], key[96], copy[4096], part[4200];
    mode_t mode;
    if (root == NULL || shadow == NULL) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return;
    path[n] = '\0';
    size_t length = strlen(root);
    if (strncmp(path, root, length) != 0 || (path[length] != '/' && path[length] != '\0')) return;
    if (key_of(fd, "", key, sizeof key, &mode) != 0) return;
    snprintf(copy, sizeof copy, "%s/%c-%s", shadow, S_ISDIR(mode) ? 'd' : 'f', key);
    snprintf(part, sizeof part, "%s.%d.%ld", copy, getpid(), syscall(SYS_gettid));
    FILE *to = fopen(part, "w");
    if (to == NULL) return;
    int failed = S_ISDIR(mode) ? copy_folder(fd, to) : copy_file(link, to);
    if (fclose(to) == 0 && failed == 0) rename(part, copy);
}

#define RECORDED(name)                                                  \
    int name(int fd) {                                                  \
        static int (*real)(int);                                        \
        if (getenv("SYNC_OFF") != NULL) return 0;                       \
        if (real == NULL) real = (int (*)(int))dlsym(RTLD_NEXT, #name); \
        record(fd);                                                     \
        return real(fd);                                                \
    }

RECORDED(fsync)
RECORDED(fdatasync)
