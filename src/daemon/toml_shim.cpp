/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "daemon/toml_shim.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct found {
    std::string section, key, text;
    pm_toml_item item;
};

class collector {
  public:
    void table(const toml::table &table, const std::string &section, uint32_t number) {
        for (auto &&[key, node] : table) {
            one(node, section, number, std::string(key.str()), key.source().begin);
        }
    }

    /* In the text's order: a table is kept sorted by name. */
    std::vector<found> &sorted() {
        std::stable_sort(all.begin(), all.end(), [](const found &a, const found &b) {
            return a.item.line != b.item.line ? a.item.line < b.item.line
                                              : a.item.column < b.item.column;
        });
        return all;
    }

  private:
    std::vector<found> all;

    found &add(const std::string &section, uint32_t number, const std::string &key,
               pm_toml_kind kind, const toml::source_position &at) {
        found item = {section, key, "", {}};
        item.item.table = number;
        item.item.element = PM_TOML_NONE;
        item.item.kind = kind;
        item.item.line = at.line;
        item.item.column = at.column;
        all.push_back(std::move(item));
        return all.back();
    }

    static std::string below(const std::string &section, const std::string &key) {
        return section.empty() ? key : section + "." + key;
    }

    void value(const toml::node &node, found &out) {
        if (const auto *text = node.as_string()) {
            out.text = text->get();
        } else if (const auto *integer = node.as_integer()) {
            out.item.integer = integer->get();
        } else if (const auto *boolean = node.as_boolean()) {
            out.item.integer = boolean->get() ? 1 : 0;
        }
    }

    static pm_toml_kind kind_of(const toml::node &node) {
        switch (node.type()) {
        case toml::node_type::string:
            return PM_TOML_STRING;
        case toml::node_type::integer:
            return PM_TOML_INTEGER;
        case toml::node_type::floating_point:
            return PM_TOML_FLOAT;
        case toml::node_type::boolean:
            return PM_TOML_BOOLEAN;
        case toml::node_type::array:
            return PM_TOML_ARRAY;
        case toml::node_type::table:
            return PM_TOML_TABLE;
        default:
            return PM_TOML_DATE;
        }
    }

    void array(const toml::array &array, const std::string &section, uint32_t number,
               const std::string &key, const toml::source_position &at) {
        uint32_t i = 0;
        add(section, number, key, PM_TOML_ARRAY, at).item.integer =
            static_cast<int64_t>(array.size());
        for (const toml::node &node : array) {
            found &out = add(section, number, key, kind_of(node), node.source().begin);
            out.item.element = i++;
            value(node, out);
        }
    }

    void one(const toml::node &node, const std::string &section, uint32_t number,
             const std::string &key, const toml::source_position &at) {
        const toml::array *elements = node.as_array();
        if (const toml::table *inner = node.as_table()) {
            add(section, number, key, PM_TOML_TABLE, at);
            table(*inner, below(section, key), number);
        } else if (elements != nullptr && !elements->empty() &&
                   elements->is_homogeneous(toml::node_type::table)) {
            uint32_t i = 0;
            for (const toml::node &element : *elements) {
                found &out = add(section, number, key, PM_TOML_TABLE, element.source().begin);
                out.item.element = i;
                table(*element.as_table(), below(section, key), i++);
            }
        } else if (elements != nullptr) {
            array(*elements, section, number, key, at);
        } else {
            value(node, add(section, number, key, kind_of(node), at));
        }
    }
};

/* As pm_error_set(), which is not declared for C++. */
pm_status fail(pm_error *error, pm_status status, const char *name, uint32_t line,
               std::string_view sentence) {
    if (error != nullptr && error->struct_bytes >= sizeof *error) {
        error->status = static_cast<int32_t>(status);
        error->offset = PM_NO_OFFSET;
        error->need = error->have = 0;
        error->file[0] = '\0';
        (void)std::snprintf(error->message, sizeof error->message, "%s:%u: %.*s", name, line,
                            static_cast<int>(std::min<size_t>(sentence.size(), 300)),
                            sentence.data());
        for (char *c = error->message; *c != '\0'; ++c) {
            if (static_cast<unsigned char>(*c) < 0x20 || static_cast<unsigned char>(*c) > 0x7e) {
                *c = '?';
            }
        }
    }
    return status;
}

pm_status walk(std::string_view text, const char *name, pm_toml_visitor *visit, void *user,
               pm_error *error) {
    const toml::table root = toml::parse(text);
    collector items;
    items.table(root, "", PM_TOML_NONE);
    for (found &each : items.sorted()) {
        /* Names are compared as C strings. */
        if (each.key.find('\0') != std::string::npos ||
            each.section.find('\0') != std::string::npos) {
            return fail(error, PM_ENCODING, name, each.item.line, "a key with a NUL in it");
        }
        each.item.section = each.section.c_str();
        each.item.key = each.key.c_str();
        each.item.text = each.text.c_str();
        each.item.n_text = each.text.size();
        const pm_status status = visit(user, &each.item, error);
        if (status != PM_OK) {
            return status;
        }
    }
    return PM_OK;
}

} // namespace

pm_status pm_toml_walk(const char *text, size_t n_bytes, const char *name, pm_toml_visitor *visit,
                       void *user, pm_error *error) {
    try {
        return walk(std::string_view(text, n_bytes), name, visit, user, error);
    } catch (const toml::parse_error &wrong) {
        return fail(error, PM_ENCODING, name, wrong.source().begin.line, wrong.description());
    } catch (const std::bad_alloc &) {
        return fail(error, PM_NO_MEMORY, name, 0, "out of memory while it was read");
    } catch (...) {
        return fail(error, PM_ENCODING, name, 0, "toml++ cannot read it");
    }
}
