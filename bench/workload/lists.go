package workload

import "slices"

// Lists answers whole lists by the rows as they read, one question after the other.
type Lists struct {
	world *World
	plain *definition
}

// Lists readies the lists of a world.
func (w *World) Lists() Lists { return Lists{w, newDefinition(w)} }

// Who lists the users who may use a key at a scope, sorted.
func (l Lists) Who(key string, at ScopeID) (users []string) {
	for _, u := range l.world.Users {
		if l.plain.allowed(Question{User: u.ID, Key: key, Scope: at}) {
			users = append(users, u.ID)
		}
	}
	slices.Sort(users)
	return users
}

// Where lists the scopes at which a user may use a key, in the order of CompareScopes.
func (l Lists) Where(user, key string) (scopes []ScopeID) {
	for _, at := range append([]ScopeID{{}}, l.world.scopeIDs()...) {
		if l.plain.allowed(Question{User: user, Key: key, Scope: at}) {
			scopes = append(scopes, at)
		}
	}
	slices.SortFunc(scopes, CompareScopes)
	return scopes
}

func (w *World) scopeIDs() []ScopeID {
	ids := make([]ScopeID, len(w.Scopes))
	for i, s := range w.Scopes {
		ids[i] = s.ScopeID
	}
	return ids
}
