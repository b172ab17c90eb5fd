#include <algorithm>
#include <map>
#include <set>

#include "envtools/plan/plan.h"

namespace pinstep {
namespace {

using Names = std::set<std::string>;

// What each package depends on among the others. Python's own dependencies on packages written in python (pip)
// are left out: those need python, never the other way.
std::map<std::string, Names> dependency_graph(const std::vector<CondaSource>& packages) {
  std::map<std::string, const CondaSource*> by_name;
  for (const CondaSource& package : packages) by_name.emplace(package.info.name, &package);
  std::map<std::string, Names> graph;
  for (const auto& [name, package] : by_name) {
    Names& edges = graph[name];
    for (const std::string& spec : package->info.depends) {
      const std::string dependency = spec.substr(0, spec.find_first_of(" =<>!~["));
      const auto found = by_name.find(dependency);
      if (found == by_name.end() || dependency == name) continue;
      if (name == "python" && found->second->info.noarch == Noarch::python) continue;
      edges.insert(dependency);
    }
  }
  return graph;
}

// Depth first with a stack of our own: an archive's metadata must not decide how deep we recurse.
class DepthFirst {
 public:
  explicit DepthFirst(const std::map<std::string, Names>& graph) : graph_(graph) {}

  void visit(const std::string& root) {
    enter(root);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.next == frame.end) {
        order_.push_back(*frame.name);
        stack_.pop_back();
      } else {
        const std::string& dependency = *frame.next;
        ++frame.next;
        enter(dependency);
      }
    }
  }
  std::vector<std::string> order() && { return std::move(order_); }

 private:
  struct Frame {
    const std::string* name;
    Names::const_reverse_iterator next, end;
  };

  void enter(const std::string& name) {
    if (!visited_.insert(name).second) return;
    const auto node = graph_.find(name);
    stack_.push_back({&node->first, node->second.rbegin(), node->second.rend()});
  }

  const std::map<std::string, Names>& graph_;
  std::set<std::string> visited_;
  std::vector<Frame> stack_;
  std::vector<std::string> order_;
};

}  // namespace

std::vector<std::size_t> link_order(const std::vector<CondaSource>& packages) {
  const auto graph = dependency_graph(packages);
  Names inner;
  for (const auto& [name, edges] : graph) inner.insert(edges.begin(), edges.end());

  // Roots from the last name to the first, so that the first name is linked last. What no root reaches lies
  // on a cycle that nothing outside needs.
  DepthFirst walk(graph);
  for (auto node = graph.rbegin(); node != graph.rend(); ++node)
    if (!inner.contains(node->first)) walk.visit(node->first);
  for (auto node = graph.rbegin(); node != graph.rend(); ++node) walk.visit(node->first);

  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < packages.size(); ++i) index.emplace(packages[i].info.name, i);
  std::vector<std::size_t> result;
  for (const std::string& name : std::move(walk).order()) result.push_back(index.at(name));
  return result;
}

}  // namespace pinstep
