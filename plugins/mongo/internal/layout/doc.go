// Package layout lays partitions out in a MongoDB database: in collections of
// their own (<partition>_grants), or as rows of shared collections whose every
// document carries the partition (_id {app, id} and a field app).
//
// It is the only place that touches collections. A statement takes a Filter,
// which only a Collection of a partition can make: a query that forgot the
// partition does not compile. The package knows the names, keys, indexes and the
// marker of a layout; it knows nothing of what the documents mean.
package layout
