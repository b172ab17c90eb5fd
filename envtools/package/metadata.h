// The texts under info/ as values. Each function is told the path it speaks of (`where`) for its messages.
// Errors: corrupt (broken text, missing keys), refused (an unsafe name or path), unsupported (a newer format).
#pragma once

#include <optional>
#include <string_view>

#include "envtools/json/json.h"
#include "envtools/package/package.h"

namespace pinstep {

// conda_pkg_format_version of a .conda's metadata.json; nothing where it has none.
std::optional<std::uint64_t> package_format_version(std::string_view metadata_json);

// paths.json, sorted by path; an entry listed twice alike counts once.
Result<std::vector<PackagePath>> parse_paths(std::string_view paths_json, std::string_view where);

// info/files, has_prefix, no_link: what packages before 2016 have instead; types are left to the caller, who
// has the tree.
Result<std::vector<PackagePath>> parse_old_paths(std::string_view files, std::string_view has_prefix,
                                                 std::string_view no_link, std::string_view where);

// name, version, build, build_number, subdir, noarch, depends, python_site_packages_path, timestamp and
// index_json of index.json.
Result<PackageInfo> parse_index(std::string_view index_json, std::string_view where);

// noarch (where index.json said none) and entry points of link.json or the older package_metadata.json.
Result<void> add_link_json(PackageInfo& info, std::string_view link_json, std::string_view where);

// "command = module:function". Errors: refused.
Result<EntryPoint> parse_entry_point(std::string_view text, std::string_view where);

}  // namespace pinstep
