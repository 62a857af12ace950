// Package modules finds the source file that a TypeScript or JavaScript file means by
// an import: by its path, by paths of tsconfig.json, or as a package of the same
// workspace. It reads tsconfig.json, jsconfig.json and package.json, never what is
// installed in node_modules, and nothing outside the workspace.
package modules
