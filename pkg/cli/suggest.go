package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

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

// nearest returns the first of the candidates that cobra would suggest for a word if they were commands, or
// "". Words of two letters are near to too many others.
func nearest(word string, candidates []string) string {
	parent := &cobra.Command{SuggestionsMinimumDistance: maxDistance}
	for _, candidate := range candidates {
		if len(candidate) > maxDistance {
			parent.AddCommand(&cobra.Command{Use: candidate, Run: func(*cobra.Command, []string) {}})
		}
	}
	found := parent.SuggestionsFor(word)
	if len(word) <= maxDistance || len(found) == 0 {
		return ""
	}
	if slices.Contains(found, word) {
		return word
	}
	return found[0]
}
