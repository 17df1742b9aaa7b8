// Defines how many threads the compiled library takes.

#ifndef ZEROULP_THREADS_HPP_
#define ZEROULP_THREADS_HPP_

#pragma GCC visibility push(default)
namespace zeroulp::engine {

/// The most threads that a call takes. A call takes fewer if its work is small,
/// about a millisecond of work for each thread, and one within a parallel
/// region of OpenMP. No bit depends on it.
int current_threads();

/// Sets that number for the whole process; 0, as at first: what OpenMP says
/// (omp_set_num_threads of the calling thread, OMP_NUM_THREADS, all cores).
/// Throws std::invalid_argument if `count` is negative.
void use_threads(int count);

}  // namespace zeroulp::engine
#pragma GCC visibility pop

#endif  // ZEROULP_THREADS_HPP_
