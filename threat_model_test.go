package authz_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The threat model names a test for each defence. One that is renamed or deleted takes
// its promise along.
func TestTheThreatModelNamesTestsThatExist(t *testing.T) {
	text, err := os.ReadFile("docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "TEST?") {
		t.Error("a defence waits for its test")
	}
	named := regexp.MustCompile("`([a-z][a-z0-9/]*)\\.(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(string(text), -1)
	if len(named) < 50 {
		t.Fatalf("only %d tests are named", len(named))
	}
	sources := map[string]string{}
	for _, n := range named {
		dir, name := n[1], n[2]
		if _, read := sources[dir]; !read {
			files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				source, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				sources[dir] += string(source)
			}
		}
		if !strings.Contains(sources[dir], "func "+name+"(t ") {
			t.Errorf("%s.%s is no test", dir, name)
		}
	}
}

// asvs holds how many requirements of levels 1 and 2 each section of OWASP ASVS 5.0.0
// has. Their numbers begin at 1 and leave none out.
var asvs = map[string]int{
	"1.1": 2, "1.2": 9, "1.3": 11, "1.4": 3, "1.5": 2, "2.1": 3, "2.2": 3, "2.3": 4, "2.4": 1, "3.2": 2, "3.3": 4, "3.4": 6, "3.5": 5, "3.7": 2,
	"4.1": 3, "4.2": 1, "4.3": 2, "4.4": 4, "5.1": 1, "5.2": 3, "5.3": 2, "5.4": 3, "6.1": 3, "6.2": 12, "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4,
	"7.1": 3, "7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2, "7.6": 2, "8.1": 2, "8.2": 3, "8.3": 1, "8.4": 1, "9.1": 3, "9.2": 4, "10.1": 2, "10.2": 2, "10.3": 4,
	"10.4": 11, "10.5": 5, "10.6": 2, "10.7": 3, "11.1": 2, "11.2": 3, "11.3": 3, "11.4": 4, "11.5": 1, "11.6": 1, "12.1": 3, "12.2": 2, "12.3": 4, "13.1": 1,
	"13.2": 5, "13.3": 2, "13.4": 5, "14.1": 2, "14.2": 4, "14.3": 3, "15.1": 3, "15.2": 3, "15.3": 7, "16.1": 1, "16.2": 5, "16.3": 4, "16.4": 3, "16.5": 3,
	"17.1": 1, "17.2": 4, "17.3": 2,
}

// Each requirement is answered once, and each row is held to its state: what is met
// has a test or a document, and what is not met has a reason.
func TestEveryRequirementOfASVSIsAnswered(t *testing.T) {
	text, err := os.ReadFile("docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, ok := strings.Cut(string(text), "\n## OWASP ASVS 5.0, level 2\n")
	if !ok {
		t.Fatal("the chapter on ASVS is gone")
	}
	shown := regexp.MustCompile("`[a-z][a-z0-9/]*\\.Test|\\]\\([^)]+\\)")
	number := regexp.MustCompile(`(\d+\.\d+)\.(\d+)(?:–(\d+))?`)
	answered := map[string]int{}
	for line := range strings.Lines(chapter) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		numbers := number.FindAllStringSubmatch(cells[0], -1)
		if !strings.HasPrefix(line, "| ") || numbers == nil {
			continue
		}
		for _, m := range numbers {
			first, _ := strconv.Atoi(m[2])
			last := first
			if m[3] != "" {
				last, _ = strconv.Atoi(m[3])
			}
			for n := first; n <= last; n++ {
				answered[m[1]+"."+strconv.Itoa(n)]++
			}
		}
		if len(cells) == 2 { // is not applicable, and says why
			continue
		}
		if len(cells) != 4 {
			t.Errorf("%d cells: %s", len(cells), line)
			continue
		}
		switch state := cells[2]; {
		case state == "met" && !shown.MatchString(cells[3]):
			t.Errorf("%s: met, and neither a test nor a document shows it", cells[0])
		case state != "met" && state != "partly" && state != "not met":
			t.Errorf("%s is %q", cells[0], state)
		case state != "met" && len(strings.Fields(cells[3])) < 5:
			t.Errorf("%s is %s and does not say why", cells[0], state)
		}
	}
	for section, count := range asvs {
		for n := 1; n <= count; n++ {
			id := section + "." + strconv.Itoa(n)
			if answered[id] != 1 {
				t.Errorf("requirement %s is answered %d times", id, answered[id])
			}
			delete(answered, id)
		}
	}
	for id := range answered {
		t.Errorf("%s is no requirement of levels 1 and 2", id)
	}
}
