/* A PMIx client: each rank publishes its node's name and reads the name that
 * the next rank published, which for some pairs is on another node. */
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fail(const char *what, pmix_status_t status) {
  fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
  return 1;
}

static pmix_status_t fence(bool exchange) {
  pmix_info_t collect;
  pmix_status_t status;

  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &exchange, PMIX_BOOL);
  status = PMIx_Fence(NULL, 0, &collect, 1);
  PMIX_INFO_DESTRUCT(&collect);
  return status;
}

int main(void) {
  pmix_proc_t self, whole, next;
  pmix_value_t mine, *found;
  pmix_status_t status;
  char node[256];
  unsigned size;

  if ((status = PMIx_Init(&self, NULL, 0)) != PMIX_SUCCESS) return fail("PMIx_Init", status);

  PMIX_LOAD_PROCID(&whole, self.nspace, PMIX_RANK_WILDCARD);
  status = PMIx_Get(&whole, PMIX_JOB_SIZE, NULL, 0, &found);
  if (status != PMIX_SUCCESS) return fail("job size", status);
  size = found->data.uint32;
  PMIX_VALUE_RELEASE(found);

  gethostname(node, sizeof node);
  PMIX_VALUE_LOAD(&mine, node, PMIX_STRING);
  if ((status = PMIx_Put(PMIX_GLOBAL, "node", &mine)) != PMIX_SUCCESS ||
      (status = PMIx_Commit()) != PMIX_SUCCESS || (status = fence(true)) != PMIX_SUCCESS)
    return fail("exchange", status);

  PMIX_LOAD_PROCID(&next, self.nspace, (self.rank + 1) % size);
  status = PMIx_Get(&next, "node", NULL, 0, &found);
  if (status != PMIX_SUCCESS) return fail("next rank's node", status);
  printf("pmix rank %u of %u on %s next on %s\n", self.rank, size, node, found->data.string);
  PMIX_VALUE_RELEASE(found);

  /* A server may ask another for a value although it was exchanged: nobody
   * leaves before all have theirs. */
  if ((status = fence(false)) != PMIX_SUCCESS) return fail("last fence", status);
  if ((status = PMIx_Finalize(NULL, 0)) != PMIX_SUCCESS) return fail("PMIx_Finalize", status);
  return 0;
}
