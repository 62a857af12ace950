package hosted

// endpoints is the table of hosted-api.md §8.
func endpoints() *table {
	t := &table{}
	authRows(t)
	oidcRows(t)
	orgRows(t)
	meRows(t)
	applicationRows(t)
	registryRows(t)
	seatRows(t)
	keyRows(t)
	billingRows(t)
	describeRows(t)
	return t
}
