package provider

// Located is a provider that knows which store it reads. Caches that several
// processes share keep the entries of different stores apart by it.
type Located interface {
	// Location is cheap: it is asked at every use.
	Location() Location
}

// Location names a store: its partition and the present life of its content,
// each "" when unknown. Composite says that EventLog sums several logs, so that its
// numbers mean something in this process only.
type Location struct {
	Partition, Incarnation string
	Composite              bool
}
