// Package bench measures the program as it is run: it builds cmd/greenwright,
// starts `serve` as a process of its own against the simulated GitHub and a
// real redis-server, and loads it over HTTP on the loopback interface. It has
// no other code than benchmarks, and tests of the measuring itself; the
// figures are explained in docs/performance.md.
//
// Invariants: every figure comes with what it is compared with in the same
// run, or with the target that the project set itself; a missed target is
// printed as a miss and fails nothing, because the machine decides as well; a
// wrong answer, or a delivery that was answered 202 and is not in the queue,
// fails. Load is bounded in time and in connections, and the generator runs on
// the same cores as what it measures: CPU time per delivery is therefore
// reported for each process apart.
//
// Benchmarks here take seconds and measure once: run them with -benchtime 1x.
// To add a figure: a Benchmark function that ends with [verdicts].
package bench
