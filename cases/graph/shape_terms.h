// Shapes with unknowns, and what follows for the unknowns where two shapes are one: [*,K] and [N,C,7] give * = [N,C] and K = 7.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

// A part of the shape of a result of a node, as Python slices it: dims[first:last], where a negative number counts from the end and a
// last of 0 is the end.
struct EdgePart {
  std::size_t node = 0, result = 0;
  std::int64_t first = 0, last = 0;
  friend bool operator==(const EdgePart&, const EdgePart&) = default;
};

// A size: the number of an unknown of ShapeTerms.
struct DimTerm {
  std::size_t unknown = 0;
};

// Dimensions at the front, then perhaps a run of any number, then dimensions at the back.
struct ShapeTerm {
  std::vector<DimTerm> front{};
  std::optional<std::size_t> run{};  // the number of an unknown run
  std::vector<DimTerm> back{};       // none where there is no run
};

class ShapeTerms {
 public:
  DimTerm dim();
  DimTerm dim(std::int64_t size);
  DimTerm dim(const EdgePart& computed);
  ShapeTerm any();  // a run alone
  ShapeTerm ranked(std::size_t dimensions);
  ShapeTerm edge(const EdgePart& computed);
  // A run with as many dimensions as another one has, in which it is a window.
  std::size_t window(std::size_t in);
  // What is computed from another run, and has as many dimensions.
  void as_long_as(std::size_t run, std::size_t other) { runs_[run].as_long_as = other; }
  // Gives runs the length of those that they are as long as, where it is known of one of the two. False if the two differ.
  bool even_out();

  // Makes both one shape; or changes nothing and returns false. What is computed from a graph's arguments cannot be compared with
  // what is known, and is no reason against it.
  bool unify(const ShapeTerm& a, const ShapeTerm& b);
  bool unify(DimTerm a, DimTerm b);

  // What is known now, to go back to.
  struct Mark {
    std::size_t dims = 0, runs = 0, old_dims = 0, old_runs = 0;
  };
  Mark mark() const { return {dims_.size(), runs_.size(), old_dims_.size(), old_runs_.size()}; }
  void back_to(const Mark& mark);

  // As far as it is known.
  ShapeTerm resolved(const ShapeTerm& t) const;
  // How many dimensions there are up to number d, or from the last one down to it if d is negative.
  static std::size_t count_to(std::int64_t d) { return static_cast<std::size_t>(d < 0 ? -(d + 1) : d) + 1; }
  // The dimension with this number, from the end if it is negative, which `t` has or gets. None if it has fewer.
  std::optional<DimTerm> at(const ShapeTerm& t, std::int64_t d);

  std::optional<std::int64_t> size(DimTerm d) const;
  const EdgePart* computed(DimTerm d) const;
  // Whether a size that is computed must be another one, too, which is computed otherwise or written out.
  bool meets(DimTerm d) const { return dims_[root(d)].meets; }
  const EdgePart* computed_run(std::size_t run) const;
  std::size_t root(DimTerm d) const;
  std::size_t root_run(std::size_t run) const;
  bool is_window(std::size_t run) const { return runs_[root_run(run)].is_window; }
  std::optional<std::size_t> long_as(std::size_t run) const { return runs_[root_run(run)].as_long_as; }
  // Sizes of windows, and sizes that are computed, each with the one in which it lies or from which it is computed.
  struct Pair {
    DimTerm own, of;
    bool is_window = false;
  };
  std::vector<Pair> pairs() const;

 private:
  struct Dim {
    std::size_t parent;
    std::optional<std::int64_t> size{};
    std::optional<EdgePart> computed{};
    bool meets = false;  // another size that is computed otherwise, or one that is written out
  };
  struct Run {
    std::optional<ShapeTerm> bound{};
    std::optional<EdgePart> computed{};
    std::optional<std::size_t> as_long_as{};
    bool is_window = false;  // in that
  };
  // To be changed: what it was is remembered.
  Dim& changed_dim(std::size_t root);
  Run& changed_run(std::size_t run);
  bool bind(std::size_t run, const ShapeTerm& to);
  bool unify_now(const ShapeTerm& a, const ShapeTerm& b);
  DimTerm part(const EdgePart& of, std::int64_t d);
  std::optional<std::size_t> length(std::size_t run) const;

  std::vector<Dim> dims_;
  std::vector<Run> runs_;
  std::vector<std::pair<std::size_t, Dim>> old_dims_;
  std::vector<std::pair<std::size_t, Run>> old_runs_;
};

}  // namespace assay
