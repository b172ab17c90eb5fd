/* An Open MPI program: each rank tells its node, and all of them add up their
 * ranks, so that the nodes must talk to each other. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank, size, length, sum = 0;
  char node[MPI_MAX_PROCESSOR_NAME];

  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(node, &length);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("mpi rank %d of %d on %s sum %d\n", rank, size, node, sum);
  MPI_Finalize();
  return sum == size * (size - 1) / 2 ? 0 : 1;
}
