package orgmerge_test

import (
	"encoding/json"

	"github.com/authzhost/authz/sdk/provider"
)

func readOrg(raw []byte) (s provider.OrgSnapshot) {
	if err := json.Unmarshal(raw, &s); err != nil {
		panic(err)
	}
	return s
}
