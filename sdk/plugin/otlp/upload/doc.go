// Package upload sends one message of OTLP to a collector, over gRPC or HTTP, and
// says of a failure what the sender must know: whether the collector can have taken
// the message, whether another attempt is of use, and when.
//
// Spans and metrics share it. It builds no message, repeats nothing, keeps nothing,
// and never repeats in an error what the collector said: that may echo a header.
package upload
