// How programs are told, on their standard input, what opens channels and indexes.
#pragma once

#include "envtools/channel/access.h"
#include "envtools/json/json.h"

namespace pinstep {

// {"credentials": {"https://host/c": "https://user:password@host/c"}, "proxies": {"https": "http://…"},
//  "certificates": "/etc/site.pem"}
Json json_of(const Access& access);
Access access_of(const Json& json);  // what is of another kind is left out

}  // namespace pinstep
