package hosted

// endpoints is the table of hosted-api.md §8.
func endpoints(a *API) *table {
	t := &table{}
	describeRows(t)
	return t
}
