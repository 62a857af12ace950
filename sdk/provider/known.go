package provider

// Known is what an application stores of a user, group or service. Rows says that
// grants or revokes name it, UserRecords that there are records of people at all.
type Known struct {
	Record      bool `json:"record"`
	Rows        bool `json:"rows"`
	UserRecords bool `json:"userRecords"`
	OrgRoot     bool `json:"orgRoot"`
}
