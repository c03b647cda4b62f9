"""The whole check of an author's work: `grader problem verify`, and what new cases must pass before they are activated.

finding   one thing that is wrong, as a linter says it        prose, latex   what people read
inputs    the cases as such                                  trial          example submissions, graded
kills     mistakes x cases, diagnosis                        steady         the same everywhere
claims    what the theory claims                             worked         examples of problem.toml
package   all of it, in order                                report, tables what came out, for programs and people
"""
