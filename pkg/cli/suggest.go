package cli

import "strings"

// maxDistance is the greatest number of edits between a word and the one suggested for it.
const maxDistance = 2

// didYouMean returns a question for the end of an error that suggests the candidate
// nearest to a word, or nothing if none is near.
func didYouMean(word string, candidates []string) string {
	if best := nearest(word, candidates); best != "" {
		return ": did you mean " + best + "?"
	}
	return ""
}

// nearest returns the candidate nearest to a word, or "" if none is near.
func nearest(word string, candidates []string) (best string) {
	least := maxDistance + 1
	for _, candidate := range candidates {
		// Fewer edits than letters: something of the word must remain.
		if d := distance(strings.ToLower(word), candidate); d < min(least, len(candidate), len(word)) {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the restricted Damerau–Levenshtein distance: the number of letters to insert,
// delete, change or swap with their neighbour that turn one word into the other.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1) // rows i-1 and i of the table
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
