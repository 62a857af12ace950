// Command http measures a check over HTTP: the real host process, with metrics, an
// access log and traces on, beside a process of bare net/http that decodes the same
// question and answers yes. Both are asked in turns by the same load on the same
// machine, so that what else runs there troubles both alike.
package main
