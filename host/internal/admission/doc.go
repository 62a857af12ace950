// Package admission decides how much work of an application runs at once, and what
// is refused: a limit for reads, writes and lists each, adapted to how long they
// take, a short queue before it, and one bound over everything, which checks meet
// last. A check costs an atomic counter and no lock.
//
// It knows nothing of HTTP and of what the work is.
package admission
