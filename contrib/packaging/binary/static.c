/* What the static programs of `make dist-binary` have besides. The archive of hwloc asks udev for the vendors
   of disks, and there is no archive of udev: it does without, as on a machine where udev does not run. And a
   static program must not load the name service modules of the machine it runs on: they belong to another C
   library. */
#include <nss.h>
#include <stddef.h>

__attribute__((constructor)) static void use_own_name_services(void) {
  __nss_configure_lookup("passwd", "files");
  __nss_configure_lookup("hosts", "files dns");
}

void* udev_new(void) { return NULL; }
void* udev_unref(void* udev) { return udev; }
void* udev_device_new_from_subsystem_sysname(void* udev, const char* subsystem, const char* name) {
  (void)udev, (void)subsystem, (void)name;
  return NULL;
}
const char* udev_device_get_property_value(void* device, const char* name) {
  (void)device, (void)name;
  return NULL;
}
void* udev_device_unref(void* device) {
  (void)device;
  return NULL;
}
