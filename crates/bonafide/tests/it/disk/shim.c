/* A disk that fills, that is slow, and that loses power. Tests and benchmarks compile this and put it into LD_PRELOAD.
 *
 * It concerns files under DISK_ROOT only:
 * - DISK_FULL=FILE: while FILE exists, every write fails with ENOSPC.
 * - DISK_FULL_AFTER=N: the process's writes after the first N fail with ENOSPC.
 * - DISK_SYNC_US=N: fsync and fdatasync take N microseconds longer.
 * - DISK_SYNCS=FILE: one byte is appended to FILE for each fsync or fdatasync of a file.
 * - DISK_SHADOW=FOLDER: the disk as it is after a power cut. FOLDER/inodes holds each file as it was last synced, and
 *   FOLDER/tree the entries of each folder as they were last synced, as symbolic links to those files. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

typedef ssize_t (*write_fn)(int, const void *, size_t);
typedef ssize_t (*pwrite_fn)(int, const void *, size_t, off_t);
typedef ssize_t (*writev_fn)(int, const struct iovec *, int);
typedef int (*sync_fn)(int);

static write_fn real_write;
static pwrite_fn real_pwrite, real_pwrite64;
static writev_fn real_writev;
static sync_fn real_fsync, real_fdatasync;
static const char *root, *full, *shadow, *syncs;
static long full_after = -1, sync_us;
static atomic_long writes;
static pthread_mutex_t shadowing = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
    real_write = (write_fn)dlsym(RTLD_NEXT, "write");
    real_pwrite = (pwrite_fn)dlsym(RTLD_NEXT, "pwrite");
    real_pwrite64 = (pwrite_fn)dlsym(RTLD_NEXT, "pwrite64");
    real_writev = (writev_fn)dlsym(RTLD_NEXT, "writev");
    real_fsync = (sync_fn)dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = (sync_fn)dlsym(RTLD_NEXT, "fdatasync");
    root = getenv("DISK_ROOT");
    full = getenv("DISK_FULL");
    shadow = getenv("DISK_SHADOW");
    syncs = getenv("DISK_SYNCS");
    if (getenv("DISK_FULL_AFTER")) full_after = atol(getenv("DISK_FULL_AFTER"));
    if (getenv("DISK_SYNC_US")) sync_us = atol(getenv("DISK_SYNC_US"));
}

/* The path of a file under the root, below the root; nothing for other files. */
static int below_root(int fd, char *path) {
    char link[64], target[PATH_MAX];
    if (!root) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0) return 0;
    target[length] = 0;
    size_t prefix = strlen(root);
    if (strncmp(target, root, prefix) != 0 || (target[prefix] != '/' && target[prefix] != 0)) return 0;
    strcpy(path, target + prefix);
    return 1;
}

static int is_full(int fd) {
    char path[PATH_MAX];
    if (!full && full_after < 0) return 0;
    if (!below_root(fd, path)) return 0;
    int over = full_after >= 0 && atomic_fetch_add(&writes, 1) >= full_after;
    if (over || (full && access(full, F_OK) == 0)) {
        errno = ENOSPC;
        return 1;
    }
    return 0;
}

ssize_t write(int fd, const void *from, size_t length) {
    return is_full(fd) ? -1 : real_write(fd, from, length);
}

ssize_t pwrite(int fd, const void *from, size_t length, off_t at) {
    return is_full(fd) ? -1 : real_pwrite(fd, from, length, at);
}

ssize_t pwrite64(int fd, const void *from, size_t length, off_t at) {
    return is_full(fd) ? -1 : real_pwrite64(fd, from, length, at);
}

ssize_t writev(int fd, const struct iovec *from, int count) {
    return is_full(fd) ? -1 : real_writev(fd, from, count);
}

static void copy_file(int fd, const struct stat *status) {
    char draft[PATH_MAX], inode[PATH_MAX], buffer[65536];
    snprintf(inode, sizeof inode, "%s/inodes/%lu", shadow, (unsigned long)status->st_ino);
    snprintf(draft, sizeof draft, "%s/inodes/draft-%d", shadow, (int)getpid());
    /* SQLite opens its files for reading too; a descriptor that only writes is opened again. */
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int in = open(link, O_RDONLY | O_CLOEXEC);
    int out = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t length;
    off_t at = 0;
    while (in >= 0 && out >= 0 && (length = pread(in, buffer, sizeof buffer, at)) > 0) {
        if (real_write(out, buffer, length) != length) break;
        at += length;
    }
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    rename(draft, inode);
}

static void copy_entries(int fd, const char *path) {
    char tree[PATH_MAX], name[PATH_MAX * 2], target[PATH_MAX];
    snprintf(tree, sizeof tree, "%s/tree%s", shadow, path);
    /* A folder whose own entry is not synced is lost, and with it all that it holds. */
    if (access(tree, F_OK) != 0) return;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    DIR *folder = opendir(link);
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        struct stat status;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
        snprintf(name, sizeof name, "%s/%s", tree, entry->d_name);
        if (S_ISDIR(status.st_mode)) {
            mkdir(name, 0700);
        } else if (S_ISREG(status.st_mode)) {
            snprintf(target, sizeof target, "%s/inodes/%lu", shadow, (unsigned long)status.st_ino);
            unlink(name);
            symlink(target, name);
        }
    }
    if (folder) closedir(folder);
    folder = opendir(tree);
    while (folder && (entry = readdir(folder))) {
        struct stat status;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) continue;
        snprintf(name, sizeof name, "%s/%s", tree, entry->d_name);
        unlink(name);
        rmdir(name);
    }
    if (folder) closedir(folder);
}

static int synced(int fd, sync_fn real) {
    char path[PATH_MAX];
    struct stat status;
    int result = real(fd);
    if (result != 0 || !below_root(fd, path) || fstat(fd, &status) != 0) return result;
    if (sync_us > 0) usleep(sync_us);
    if (syncs && S_ISREG(status.st_mode)) {
        int out = open(syncs, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (out >= 0 && real_write(out, ".", 1) == 1) close(out);
    }
    if (shadow) {
        pthread_mutex_lock(&shadowing);
        if (S_ISREG(status.st_mode)) copy_file(fd, &status);
        if (S_ISDIR(status.st_mode)) copy_entries(fd, path);
        pthread_mutex_unlock(&shadowing);
    }
    return 0;
}

int fsync(int fd) { return synced(fd, real_fsync); }

int fdatasync(int fd) { return synced(fd, real_fdatasync); }
