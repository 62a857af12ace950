package hosted

// endpoints is the table of endpoints (spec: hosted-api §8).
func endpoints() *table {
	t := &table{}
	authRows(t)
	oidcRows(t)
	orgRows(t)
	hostRows(t)
	meRows(t)
	changeRows(t)
	rowRows(t)
	roleRows(t)
	groupRows(t)
	peopleRows(t)
	lookupRows(t)
	requestRows(t)
	applicationRows(t)
	federationRows(t)
	appRelayRows(t)
	reviewRows(t)
	registryRows(t)
	seatRows(t)
	keyRows(t)
	billingRows(t)
	retentionRows(t)
	describeRows(t)
	return t
}
