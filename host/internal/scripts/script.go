package scripts

import "encoding/json"

// Script is one case of app-writes.jsonl or requests.jsonl.
type Script struct {
	ID            string              `json:"id"`
	Catalog       json.RawMessage     `json:"catalog"`
	ScopeParents  map[string][]string `json:"scopeParents"`
	Options       Options             `json:"options"`
	DriverWithout []string            `json:"driverWithout"` // methods
	Start         int64               `json:"start"`
	Steps         []Step              `json:"steps"`
	Final         struct {
		Audit []json.RawMessage `json:"audit"`
		Epoch *struct {
			Head     int64 `json:"head"`
			SinceMid *struct {
				Seq    int64           `json:"seq"`
				Limit  int             `json:"limit"`
				Result json.RawMessage `json:"result"`
			} `json:"sinceMid"`
		} `json:"epoch"`
		State map[string][]json.RawMessage `json:"state"`
	} `json:"final"`
}

// Step is one operation with what it does.
type Step struct {
	Op      string                     `json:"op"`
	Args    map[string]json.RawMessage `json:"args"`
	At      int64                      `json:"at"`
	Setup   bool                       `json:"setup"` // succeeds, nothing else is expected
	Created []string                   `json:"created"`
	Events  []json.RawMessage          `json:"events"`
	Expect  struct {
		OK    json.RawMessage `json:"ok"`
		Error *struct {
			Name    string `json:"name"`
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	} `json:"expect"`
}
