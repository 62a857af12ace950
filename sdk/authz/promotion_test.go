package authz_test

import (
	"encoding/json"
	"testing"

	"github.com/authzhost/authz/sdk/authz"
)

// To choose nobody is null; to choose nothing is to leave the member out.
func TestAResolutionTellsNullFromAbsent(t *testing.T) {
	for _, c := range []struct {
		text   string
		userID string
		chosen bool
	}{
		{`{"action":"choose","managerUserId":"m_2"}`, "m_2", true},
		{`{"action":"choose","managerUserId":null}`, "", true},
		{`{"action":"choose"}`, "", false},
	} {
		var r authz.Resolution
		if err := json.Unmarshal([]byte(c.text), &r); err != nil {
			t.Fatal(err)
		}
		if userID, chosen := r.ManagerUserID.UserID(); userID != c.userID || chosen != c.chosen {
			t.Errorf("%s: %q %v", c.text, userID, chosen)
		}
		if back, err := authz.Marshal(r); err != nil || string(back) != c.text {
			t.Errorf("%s became %s, %v", c.text, back, err)
		}
	}
	for _, text := range []string{`{"managerUserId":""}`, `{"managerUserId":7}`} {
		var r authz.Resolution
		if err := json.Unmarshal([]byte(text), &r); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
