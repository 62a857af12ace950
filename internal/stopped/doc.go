// Package stopped tells when a process that was sent SIGSTOP has stopped. It reads what
// Linux tells of threads, sends no signal, and knows nothing of what the process is.
package stopped
