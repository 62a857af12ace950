// Package demo gives the examples an application to ask: it runs in their own
// process over the memory driver and is gone when they end. Your program has
// another beginning, host.Open, and the same application after it. It also stands
// in for the login that your program has. Nothing but examples may import it, and
// it alone of them may import a plugin.
package demo
