// Package cycle finds cycles in the graphs of an organization: parents of groups,
// managers of people, parents of scopes. Graphs may be deep: nothing here recurses.
// It imports nothing of this module.
package cycle
