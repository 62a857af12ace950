package relational

// AddParents reads a scope and the list of its recorded parents, NULL of one that was
// never recorded, into parents.
func AddParents(scan Scan, parents map[string][]string) error {
	var scope string
	var column []byte
	if err := scan(&scope, &column); err != nil || column == nil {
		return err
	}
	recorded, err := DecodeStrings(column)
	parents[scope] = append([]string{}, recorded...)
	return err
}
