package file

import (
	"context"
	"time"

	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/plugin"
)

const importerName = "file"

// The names of the settings.
const (
	settingPath           = "path"
	settingFormat         = "format"
	settingFiles          = "files"
	settingMaxBytes       = "max_bytes"
	settingMaxEntries     = "max_entries"
	settingSettle         = "settle"
	settingSeparator      = "separator"
	settingListSeparator  = "list_separator"
	settingColumns        = "columns"
	settingIgnoreColumns  = "ignore_columns"
	settingUserClasses    = "user_classes"
	settingUserID         = "user_id"
	settingActive         = "user_active_attribute"
	settingActiveValues   = "user_active_values"
	settingInactiveValues = "user_inactive_values"
	settingInactiveBits   = "user_inactive_bits"
	settingManager        = "user_manager"
	settingOrgs           = "user_orgs"
	settingGroupClasses   = "group_classes"
	settingGroupID        = "group_id"
	settingGroupName      = "group_name"
	settingDescription    = "group_description"
	settingMembers        = "member_attributes"
)

// Defaults are the options with nothing configured but a path.
func Defaults(path string) Options {
	return Options{
		Path: path, MaxBytes: 128 << 20, MaxEntries: 2_000_000, Settle: time.Second,
		Separator: ",", ListSeparator: ";",
		UserClasses: []string{"inetOrgPerson", "posixAccount", "user"}, UserID: "uid", Manager: "manager",
		GroupClasses: []string{"groupOfNames", "groupOfUniqueNames", "posixGroup", "group"},
		GroupID:      "cn", GroupName: "cn", Description: "description", Members: []string{"member", "uniqueMember", "memberUid"},
	}
}

// Plugin is the importer as a plugin binary serves it.
func Plugin(version string) plugin.Plugin {
	d := Defaults("")
	return plugin.Plugin{
		Name:    importerName,
		Version: version,
		Importer: plugin.ImporterKind{
			Capabilities: []directory.ImporterCapability{directory.CapUsers, directory.CapGroups,
				directory.CapMemberships, directory.CapReporting, directory.CapOrgs},
			Configure: func(_ context.Context, config map[string]any) (directory.Importer, error) {
				return Open(optionsOf(config))
			},
		},
		Check: func(config map[string]any) error {
			o := optionsOf(config)
			return o.check()
		},
		ConfigSchema: []plugin.Setting{
			{Name: settingPath, Type: plugin.TypeString, Required: true, Description: "The file, or a folder of files of one format."},
			{Name: settingFormat, Type: plugin.TypeString, Description: `"csv", "json" or "ldif". Default: what the names end with.`},
			{Name: settingFiles, Type: plugin.TypeStrings,
				Description: "The names of the files in the folder. One that is missing is then an error, and others are passed over. Default: every file of the format."},
			{Name: settingMaxBytes, Type: plugin.TypeInteger, Default: d.MaxBytes, Description: "The most bytes in all files."},
			{Name: settingMaxEntries, Type: plugin.TypeInteger, Default: d.MaxEntries, Description: "The most people, groups and lists of theirs in all files."},
			{Name: settingSettle, Type: plugin.TypeDuration, Default: d.Settle,
				Description: "How long a file must not have changed before it is read; younger ones are waited for."},

			{Name: settingSeparator, Type: plugin.TypeString, Default: d.Separator, Description: "CSV: the character between columns."},
			{Name: settingListSeparator, Type: plugin.TypeString, Default: d.ListSeparator, Description: "CSV: the character between the members of a list in one column."},
			{Name: settingColumns, Type: plugin.TypeStrings,
				Description: `CSV: what columns are called in the files, such as "user_id=Employee Number".`},
			{Name: settingIgnoreColumns, Type: plugin.TypeStrings, Description: "CSV: other columns that the files may have."},

			{Name: settingUserClasses, Type: plugin.TypeStrings, Default: d.UserClasses, Description: "LDIF: the object classes of people; one is enough. A computer is none."},
			{Name: settingUserID, Type: plugin.TypeString, Default: d.UserID, Description: "LDIF: the attribute that is a person's user id."},
			{Name: settingActive, Type: plugin.TypeString, Description: "LDIF: the attribute that says whether a person is active; needs one of the next three."},
			{Name: settingActiveValues, Type: plugin.TypeStrings, Description: "LDIF: active is who has one of these values, case aside."},
			{Name: settingInactiveValues, Type: plugin.TypeStrings, Description: `LDIF: inactive is who has one of these values, case aside; "*" is any value.`},
			{Name: settingInactiveBits, Type: plugin.TypeInteger, Default: int64(0), Description: "LDIF: inactive is whose number has one of these bits; Active Directory's userAccountControl: 2."},
			{Name: settingManager, Type: plugin.TypeString, Default: d.Manager, Description: `LDIF: the attribute that names a person's manager. "": no reporting edges.`},
			{Name: settingOrgs, Type: plugin.TypeStrings, Description: "LDIF: the attributes whose values are a person's orgs."},
			{Name: settingGroupClasses, Type: plugin.TypeStrings, Default: d.GroupClasses, Description: "LDIF: the object classes of groups; one is enough."},
			{Name: settingGroupID, Type: plugin.TypeString, Default: d.GroupID, Description: "LDIF: the attribute that is a group's id."},
			{Name: settingGroupName, Type: plugin.TypeString, Default: d.GroupName, Description: "LDIF: the attribute that is its name."},
			{Name: settingDescription, Type: plugin.TypeString, Default: d.Description, Description: `LDIF: the attribute that is its description. "": none.`},
			{Name: settingMembers, Type: plugin.TypeStrings, Default: d.Members,
				Description: "LDIF: the attributes that list its members: distinguished names, or, in memberUid, values of uid."},
		},
	}
}

// optionsOf reads settings that were checked against the schema.
func optionsOf(config map[string]any) Options {
	text := func(name string) string { s, _ := config[name].(string); return s }
	integer := func(name string) int64 { n, _ := config[name].(int64); return n }
	list := func(name string) []string { l, _ := config[name].([]string); return l }
	settle, _ := config[settingSettle].(time.Duration)
	return Options{
		Path: text(settingPath), Format: text(settingFormat), Files: list(settingFiles),
		MaxBytes: integer(settingMaxBytes), MaxEntries: integer(settingMaxEntries), Settle: settle,
		Separator: text(settingSeparator), ListSeparator: text(settingListSeparator),
		Columns: list(settingColumns), IgnoreColumns: list(settingIgnoreColumns),
		UserClasses: list(settingUserClasses), UserID: text(settingUserID),
		Active: text(settingActive), ActiveValues: list(settingActiveValues), InactiveValues: list(settingInactiveValues), InactiveBits: integer(settingInactiveBits),
		Manager: text(settingManager), Orgs: list(settingOrgs),
		GroupClasses: list(settingGroupClasses), GroupID: text(settingGroupID), GroupName: text(settingGroupName), Description: text(settingDescription),
		Members: list(settingMembers),
	}
}
