package api

import "github.com/authzhost/authz/sdk/provider"

// LocalOperations and HostOperations are those of the administration socket alone.
func LocalOperations() []*provider.Operation { return operationsOf(localEntries()) }
func HostOperations() []*provider.Operation  { return operationsOf(hostEntries()) }

// Aliases are further names of operations.
func Aliases() map[string]string {
	names := map[string]string{}
	for _, op := range provider.Operations {
		if op.Older != "" {
			names[op.Older] = op.Op
		}
	}
	return names
}

func operationsOf(list []entry) []*provider.Operation {
	var ops []*provider.Operation
	for _, e := range list {
		ops = append(ops, &e.Operation)
	}
	return ops
}
