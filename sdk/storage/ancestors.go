package storage

// Ancestors are Access.Parents of scope over the recorded parents of one scope,
// which are nil of a scope never recorded and not nil of a root.
func Ancestors(scope string, parentsOf func(scope string) ([]string, error)) (map[string][]string, error) {
	found, seen := map[string][]string{}, map[string]bool{scope: true}
	for level := []string{scope}; len(level) > 0; {
		var next []string
		for _, s := range level {
			parents, err := parentsOf(s)
			if err != nil {
				return nil, err
			}
			if parents == nil {
				continue
			}
			found[s] = parents
			for _, parent := range parents {
				if !seen[parent] {
					seen[parent] = true
					next = append(next, parent)
				}
			}
		}
		if len(seen) > MaxScopes {
			return nil, nil
		}
		level = next
	}
	return found, nil
}
