package provider

// Located is a provider that knows which store it reads. Caches that several
// processes share keep the entries of different stores apart by it.
type Located interface {
	// Location is cheap: it is asked at every use.
	Location() Location
}

// Location names a store: its partition and the present life of its content,
// each "" when unknown. Composite says that what is supplied is of other stores as
// well, and that Epoch reads the logs of all: only its positions and its log then tell
// which state an entry is of.
type Location struct {
	Partition, Incarnation string
	Composite              bool
}
