// Package hostedroot keeps the org roots that the hosted service is the home of
// (spec: federation §1): for each org an application over the partition __org_<org> of
// the service's own storage.
//
// It is reached like a linked application, without a wire and without a link. It
// decides nothing: who may ask is the gates' affair, and what moves is that of
// package federation.
package hostedroot
