/* A file system on which no lock can be had: for LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

int flock(int fd, int operation) {
  (void)fd, (void)operation;
  errno = ENOLCK;
  return -1;
}

int fcntl64(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW) {
    errno = ENOLCK;
    return -1;
  }
  int (*real)(int, int, ...) = dlsym(RTLD_NEXT, "fcntl64");
  return real(fd, command, argument);
}
