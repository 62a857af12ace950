module example.com/docs

go 1.26.0

require github.com/authzhost/authz v0.0.0

require go.yaml.in/yaml/v3 v3.0.6 // indirect

replace github.com/authzhost/authz => ../../..
