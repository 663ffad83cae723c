// A table that the page's script draws, sorts and filters. A column is a list of its distinct values and, for each row, which
// of them it has, as one to four characters: a few bytes for a number, whatever it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay {

// What a value is to people: page.js has a format for each.
struct TableColumn {
  std::string key, title, kind;  // kind: text, state, count, number, percent, ratio, time or drawn
  int width = 0;                 // in characters; 0: shown only of a row that is looked at
};

class ScriptTable {
 public:
  // `string_bytes`: how much may be spent on texts that are not names.
  ScriptTable(std::string id, std::string noun, std::vector<TableColumn> columns, std::size_t string_bytes);

  // A value of the row that is being written, for each column in any order; every row has each column.
  void name(std::string_view key, std::string_view text);  // of which links are made: always there
  void text(std::string_view key, std::string_view text);  // shortened, and left out where there is too much
  void number(std::string_view key, double value, int digits = 4);
  void count(std::string_view key, std::uint64_t value);
  void none(std::string_view key);

  struct State {
    std::string name, mark, look;  // look: a class of page.css
  };
  // The whole table in HTML. `parts`: columns that number an element of the page that belongs to the row, and how its id
  // begins. `drawn`: the column whose
  // cells show the picture of the element that they number.
  struct Drawn {
    std::string key, id;
  };
  std::string html(const std::vector<std::string>& keys, const std::string& state_key,
                   const std::vector<State>& states, const std::map<std::string, std::string>& parts,
                   const Drawn& drawn = {}) const;

 private:
  struct Column {
    std::unordered_map<std::string, std::uint32_t> places;  // of each value, as JSON
    std::string distinct;                                   // them, in the order of their places
    std::vector<std::uint32_t> rows;
  };

  void add(std::string_view key, const std::string& json);
  static std::string packed(const Column& column);

  std::string id_, noun_;
  std::vector<TableColumn> columns_;
  std::size_t string_bytes_;
  std::map<std::string, Column, std::less<>> values_;
};

}  // namespace assay
