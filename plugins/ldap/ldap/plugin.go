package ldap

import (
	"context"
	"time"

	"github.com/authzhost/authz/sdk/directory"
	"github.com/authzhost/authz/sdk/plugin"
)

const importerName = "ldap"

// The names of the settings.
const (
	settingURLs           = "urls"
	settingStartTLS       = "start_tls"
	settingCAFile         = "ca_file"
	settingCertFile       = "cert_file"
	settingKeyFile        = "key_file"
	settingServerName     = "server_name"
	settingPlaintext      = "allow_plaintext"
	settingBindDN         = "bind_dn"
	settingBindPassword   = "bind_password"
	settingBindExternal   = "bind_external"
	settingSchema         = "schema"
	settingUserBase       = "user_base"
	settingUserFilter     = "user_filter"
	settingUserID         = "user_id"
	settingActive         = "user_active_attribute"
	settingActiveValues   = "user_active_values"
	settingInactiveValues = "user_inactive_values"
	settingInactiveBits   = "user_inactive_bits"
	settingManager        = "user_manager"
	settingOrgs           = "user_orgs"
	settingGroupBase      = "group_base"
	settingGroupFilter    = "group_filter"
	settingGroupID        = "group_id"
	settingGroupName      = "group_name"
	settingDescription    = "group_description"
	settingMember         = "member_attribute"
	settingMemberKind     = "member_kind"
	settingMemberKey      = "member_key"
	settingPrimaryGroup   = "primary_group"
	settingNestedGroups   = "nested_groups"
	settingPageSize       = "page_size"
	settingMaxEntries     = "max_entries"
	settingTimeout        = "timeout"
	settingCheckSchema    = "check_schema"
)

// Plugin is the importer as a plugin binary serves it.
func Plugin(version string) plugin.Plugin {
	return plugin.Plugin{
		Name:    importerName,
		Version: version,
		Importer: plugin.ImporterKind{
			Capabilities: []directory.ImporterCapability{directory.CapUsers, directory.CapGroups, directory.CapMemberships, directory.CapReporting, directory.CapOrgs},
			Configure: func(_ context.Context, config map[string]any) (directory.Importer, error) {
				o, err := optionsOf(config)
				if err != nil {
					return nil, err
				}
				return New(o)
			},
		},
		Check: func(config map[string]any) error {
			o, err := optionsOf(config)
			if err != nil {
				return err
			}
			return o.check()
		},
		ConfigSchema: settings(),
	}
}

// settings without a default take the schema's.
func settings() []plugin.Setting {
	return []plugin.Setting{
		{Name: settingURLs, Type: plugin.TypeStrings, Required: true,
			Description: `The servers of one directory, such as "ldaps://ldap.example.com": the first that answers is read.`},
		{Name: settingStartTLS, Type: plugin.TypeBoolean, Default: false,
			Description: "Begin TLS on ldap:// connections before anything else is said."},
		{Name: settingCAFile, Type: plugin.TypeString,
			Description: "Authorities of the servers' certificates, PEM, instead of the system's."},
		{Name: settingCertFile, Type: plugin.TypeString, Description: "Certificate shown to the servers, PEM."},
		{Name: settingKeyFile, Type: plugin.TypeString, Description: "Its private key, PEM."},
		{Name: settingServerName, Type: plugin.TypeString,
			Description: "The name that the servers' certificates must have. Without it the name in the address."},
		{Name: settingPlaintext, Type: plugin.TypeBoolean, Default: false,
			Description: "Allow ldap:// without TLS, to this machine's loopback addresses only."},
		{Name: settingBindDN, Type: plugin.TypeString,
			Description: "Whom to bind as: a distinguished name, in Active Directory also user@domain. Without it the reading is anonymous."},
		{Name: settingBindPassword, Type: plugin.TypeString, Secret: true, Description: "Its password."},
		{Name: settingBindExternal, Type: plugin.TypeBoolean, Default: false,
			Description: "Bind as whom the certificate names (SASL EXTERNAL), without a password."},
		{Name: settingSchema, Type: plugin.TypeString, Required: true,
			Description: `What the settings below are unless given: "rfc2307bis", "posix" or "active_directory".`},

		{Name: settingUserBase, Type: plugin.TypeString, Required: true, Description: "Where people are, at any depth below."},
		{Name: settingUserFilter, Type: plugin.TypeString, Description: "Which entries there are people."},
		{Name: settingUserID, Type: plugin.TypeString,
			Description: "The attribute that is a person's user id. One that outlives a renaming, unless applications know people by another."},
		{Name: settingActive, Type: plugin.TypeString,
			Description: `The attribute that says whether a person is active; needs one of the next three. "": nothing is said of it.`},
		{Name: settingActiveValues, Type: plugin.TypeStrings, Description: "Active is who has one of these values, case aside."},
		{Name: settingInactiveValues, Type: plugin.TypeStrings, Description: `Inactive is who has one of these values, case aside; "*" is any value.`},
		{Name: settingInactiveBits, Type: plugin.TypeInteger, Description: "Inactive is whose number has one of these bits."},
		{Name: settingManager, Type: plugin.TypeString, Description: `The attribute that names a person's manager. "": no reporting edges.`},
		{Name: settingOrgs, Type: plugin.TypeStrings, Description: "The attributes whose values are a person's orgs."},

		{Name: settingGroupBase, Type: plugin.TypeString,
			Description: "Where groups are, at any depth below. Without it no groups are read."},
		{Name: settingGroupFilter, Type: plugin.TypeString, Description: "Which entries there are groups."},
		{Name: settingGroupID, Type: plugin.TypeString, Description: "The attribute that is a group's id."},
		{Name: settingGroupName, Type: plugin.TypeString, Description: "The attribute that is its name."},
		{Name: settingDescription, Type: plugin.TypeString, Description: `The attribute that is its description. "": none.`},
		{Name: settingMember, Type: plugin.TypeString, Description: `The attribute that lists its members. "": primary groups only.`},
		{Name: settingMemberKind, Type: plugin.TypeString,
			Description: `What it lists: "dn" distinguished names, "key" values of member_key.`},
		{Name: settingMemberKey, Type: plugin.TypeString, Description: `The attribute of a person that members of kind "key" are values of.`},
		{Name: settingPrimaryGroup, Type: plugin.TypeString,
			Description: `A person's group that does not list them: "none", "gid_number" by equal gidNumber, "sid" by primaryGroupID.`},
		{Name: settingNestedGroups, Type: plugin.TypeBoolean, Default: true,
			Description: "A group that is another's member has that other one as its parent. Otherwise such members are passed over."},

		{Name: settingPageSize, Type: plugin.TypeInteger, Default: int64(defaultPageSize),
			Description: "How many entries to ask for at once; 0 asks for all at once, for servers without paged results."},
		{Name: settingMaxEntries, Type: plugin.TypeInteger, Default: int64(defaultMaxEntries),
			Description: "The most people and groups together. A directory with more is not imported."},
		{Name: settingTimeout, Type: plugin.TypeDuration, Default: defaultTimeout,
			Description: "How long to wait for a connection, and for each answer."},
		{Name: settingCheckSchema, Type: plugin.TypeBoolean, Default: true,
			Description: "Refuse attributes that the schema of the server does not have, where it lets its schema be read."},
	}
}

// optionsOf lays settings that were checked against the schema over the defaults
// of the directory's schema.
func optionsOf(config map[string]any) (Options, error) {
	name, _ := config[settingSchema].(string)
	o, err := Defaults(Schema(name))
	if err != nil {
		return Options{}, err
	}
	// What a schema says of activity is one thing with its attribute.
	for _, setting := range []string{settingActive, settingActiveValues, settingInactiveValues, settingInactiveBits} {
		if _, given := config[setting]; given {
			o.ActiveAttribute, o.InactiveBits = "", 0
		}
	}

	overlay(config, settingURLs, &o.URLs)
	overlay(config, settingStartTLS, &o.StartTLS)
	overlay(config, settingCAFile, &o.CAFile)
	overlay(config, settingCertFile, &o.CertFile)
	overlay(config, settingKeyFile, &o.KeyFile)
	overlay(config, settingServerName, &o.ServerName)
	overlay(config, settingPlaintext, &o.AllowPlaintext)
	overlay(config, settingBindDN, &o.BindDN)
	overlay(config, settingBindPassword, &o.BindPassword)
	overlay(config, settingBindExternal, &o.BindExternal)
	overlay(config, settingUserBase, &o.UserBase)
	overlay(config, settingUserFilter, &o.UserFilter)
	overlay(config, settingUserID, &o.UserID)
	overlay(config, settingActive, &o.ActiveAttribute)
	overlay(config, settingActiveValues, &o.ActiveValues)
	overlay(config, settingInactiveValues, &o.InactiveValues)
	overlay(config, settingInactiveBits, &o.InactiveBits)
	overlay(config, settingManager, &o.UserManager)
	overlay(config, settingOrgs, &o.UserOrgs)
	overlay(config, settingGroupBase, &o.GroupBase)
	overlay(config, settingGroupFilter, &o.GroupFilter)
	overlay(config, settingGroupID, &o.GroupID)
	overlay(config, settingGroupName, &o.GroupName)
	overlay(config, settingDescription, &o.GroupDescription)
	overlay(config, settingMember, &o.Member)
	overlay(config, settingMemberKey, &o.MemberKeyAttribute)
	overlay(config, settingNestedGroups, &o.NestedGroups)
	overlay(config, settingPageSize, &o.PageSize)
	overlay(config, settingMaxEntries, &o.MaxEntries)
	overlay(config, settingTimeout, &o.Timeout)
	overlay(config, settingCheckSchema, &o.CheckSchema)
	if kind, given := config[settingMemberKind].(string); given {
		o.MemberKind = MemberKind(kind)
	}
	if primary, given := config[settingPrimaryGroup].(string); given {
		o.PrimaryGroup = PrimaryGroup(primary)
	}
	return o, nil
}

func overlay[T any](config map[string]any, setting string, field *T) {
	if value, given := config[setting].(T); given {
		*field = value
	}
}

const defaultTimeout = 30 * time.Second
