package main

// wrongFiles lie in the directory of the wrong inputs. APPLICATION is that of a good
// configuration, but for its last brace.
var wrongFiles = map[string]string{
	"people.csv": "user_id,active\nann,true\nbob,true\n",
	"empty":      "",
	"good.yaml":  "run_dir: other\nplugins: {main: {plugin: memory}}\napplications: {docs: APPLICATION}}\n",

	// catalogs
	"typo.catalog.yaml":    "namespaces: [docs]\npermissions:\n  docs.files.read: {requireCondition: true}\n",
	"foreign.catalog.yaml": "namespaces: [docs]\npermissions:\n  docs.files.read: true\n  shop.items.read: true\n",
	"scopes.catalog.yaml":  "namespaces: [docs]\npermissions:\n  docs.files.read: {scopes: [docs.foldr]}\nscopeTypes: {docs.folder: {}}\n",
	"kind.catalog.json":    "{\"namespaces\": [\"docs\"],\n \"permissions\": {\"docs.files.read\": {\"kind\": \"raed\"}}}\n",
	"cut.catalog.json":     "{\"namespaces\": [\"docs\"],\n \"permissions\": {",
	"other.catalog.yaml":   "namespaces: [shop]\npermissions: {shop.items.read: true}\n",

	// resolutions
	"r_action.yaml":  "fingerprint: sha256:00\nresolutions:\n  role:r: {action: rename_incomming, newId: x}\n  role:s: {action: widen}\n",
	"r_member.yaml":  "resolutions:\n  role:r: {action: unite, newID: x}\nfingerprnt: sha256:00\n",
	"r_manager.json": "{\"resolutions\": {\n \"manager:u\": {\"action\": \"choose\", \"managerUserId\": 7}}}",
	"r_none.yaml":    "resolutions:\n  role:r: {newId: x}\n",
	"r_good.yaml":    "fingerprint: sha256:00\nresolutions:\n  role:r: {action: unite}\n",

	// configurations
	"c_key.yaml":       "lisen: 127.0.0.1:1\n",
	"c_syntax.yaml":    "plugins: {main: {plugin: memory}\n",
	"c_type.yaml":      "plugins: {main: {plugin: memory}}\napplications: {docs: APPLICATION, group_topology_ttl: soon}}\n",
	"c_flag.yaml":      "plugins: {main: {plugin: memory}}\napplications: {docs: APPLICATION, org_root: yes please}}\n",
	"c_duration.yaml":  "shutdown_timeout: 20\n",
	"c_level.yaml":     "log: {level: verbose}\n",
	"c_format.yaml":    "log: {format: xml}\n",
	"c_listen.yaml":    "listen: 0.0.0.0:8080\n",
	"c_port.yaml":      "listen: 127.0.0.1:http\n",
	"c_same.yaml":      "listen: 127.0.0.1:8081\nops_listen: 127.0.0.1:8081\n",
	"c_tls.yaml":       "tls: {cert: nowhere.pem}\n",
	"c_driver.yaml":    "plugins: {main: {plugin: memory}}\napplications:\n  docs: {catalog: docs.yaml, storage: {driver: mian}}\n",
	"c_nodriver.yaml":  "plugins: {main: {plugin: memory}}\napplications:\n  docs: {catalog: docs.yaml}\n",
	"c_twice.yaml":     "plugins: {main: {plugin: memory}}\napplications:\n  docs: APPLICATION}\n  more: APPLICATION}\n",
	"c_partition.yaml": "plugins: {main: {plugin: memory}}\napplications:\n  docs: {catalog: docs.yaml, storage: {driver: main, partition: __docs}}\n",
	"c_catalog.yaml":   "plugins: {main: {plugin: memory}}\napplications:\n  docs: {catalog: nowhere.yaml, storage: {driver: main}}\n",
	"c_lines.yaml":     "plugins: {main: {plugin: memory}}\napplications:\n  docs: {catalog: foreign.catalog.yaml, storage: {driver: main}}\n",
	"c_secret.yaml":    "plugins: {main: {plugin: memory}}\napplications:\n  docs: APPLICATION, provider: {secret: written-down-here}}\n",
	"c_nosecret.yaml":  "plugins: {main: {plugin: memory}}\napplications:\n  docs: APPLICATION, provider: {secret: \"file:nowhere\"}}\n",
	"c_env.yaml":       "plugins: {main: {plugin: memory}}\napplications:\n  docs: APPLICATION, provider: {secret: \"env:NOT_THERE\"}}\n",
	"c_plugin.yaml":    "plugins:\n  main: {plugin: memroy}\n",
	"c_checksum.yaml":  "plugins:\n  main: {plugin: memory, sha256: abc}\n",
	"c_pinned.yaml":    "plugins:\n  main: {plugin: memory, sha256: abababababababababababababababababababababababababababababababab}\n",
	"c_setting.yaml":   "plugins:\n  main: {plugin: sqlite, config: {path: a.db, busy_tiemout: 1s}}\n",
	"c_value.yaml":     "plugins:\n  main: {plugin: memory, config: {lease: 1ms}}\n",
	"c_kind.yaml":      "plugins:\n  main: {plugin: file, config: {path: people.csv}}\napplications:\n  docs: APPLICATION}\n",
	"c_sink.yaml":      "plugins: {main: {plugin: memory}}\nmetrics: {sinks: [mian]}\n",
	"c_sod.yaml":       "plugins: {main: {plugin: memory}}\napplications:\n  docs: APPLICATION, sod: {enforce: refuse}}\n",
	"c_scope.yaml":     "plugins: {main: {plugin: memory}}\napplications:\n  docs: APPLICATION, client: {unknown_scope_types: refuse}}\n",
	"c_cron.yaml":      "plugins:\n  main: {plugin: memory}\n  people: {plugin: file, config: {path: people.csv}}\napplications:\n  docs: APPLICATION}\ndirectories:\n  staff: {importer: people, application: docs, source: hr, schedule: daily}\n",
	"c_directory.yaml": "plugins:\n  main: {plugin: memory}\n  people: {plugin: file, config: {path: people.csv}}\napplications:\n  docs: APPLICATION}\ndirectories:\n  staff: {importer: people, application: dcos, source: hr}\n",
	"c_reach.yaml":     "plugins:\n  people: {plugin: file, config: {path: nobody.csv}}\n",
}
