package catalog

// Publication is one retained publication of a catalog document. PublishedAt is
// in epoch milliseconds.
type Publication struct {
	Version     int64 `json:"version"`
	PublishedAt int64 `json:"publishedAt"`
}
