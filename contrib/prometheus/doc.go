// Package authzprometheus is the observer of sdk/metrics/prometheus, which hosts
// use themselves, under the path at which it was published first.
package authzprometheus
