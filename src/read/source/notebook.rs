//! Conversion of notebooks to Python: each line of code keeps its line number in the file, and all other lines become empty.
//!
//! `nbformat` writes each line of code on one line of JSON. Lines for the shell or IPython (`!`, `%`, `?`) become `pass`.

use crate::read::json;

/// Python code of a notebook, with the same number of lines as the notebook's file.
pub(crate) fn python_code(text: &str) -> String {
    let mut code = String::with_capacity(text.len() / 2);
    let (mut is_code, mut is_source) = (false, false);
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(kind) = trimmed.strip_prefix("\"cell_type\":") {
            is_code = kind.contains("\"code\"");
        } else if let Some(rest) = trimmed.strip_prefix("\"source\":") {
            is_source = is_code && rest.trim() == "[";
        } else if is_source && trimmed.starts_with(']') {
            is_source = false;
        } else if is_source {
            code.push_str(&python(trimmed));
        }
        code.push('\n');
    }
    code
}

/// Python code of one line of a cell.
fn python(item: &str) -> String {
    let item = item.strip_suffix(',').unwrap_or(item);
    let Ok(json::Json::Text(text)) = json::parse_bytes("cell", item.as_bytes()) else { return String::new() };
    let text = text.trim_end_matches(['\n', '\r']);
    // A line break inside an item would shift the numbers of all following lines.
    if text.contains(['\n', '\r']) {
        return String::new();
    }
    let body = text.trim_start();
    if body.starts_with(['!', '%', '?']) || body.ends_with('?') && !body.contains('#') {
        return format!("{}pass", text.get(..text.len() - body.len()).unwrap_or_default());
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::python_code;

    #[test]
    fn code_stands_where_its_lines_do() {
        let notebook = "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"source\": [\n    \"x.cuda()\"\n   ]\n  },\n  {\n   \"cell_type\": \"code\",\n   \"outputs\": [],\n   \"source\": [\n    \"%pip install x\\n\",\n    \"if a:\\n\",\n    \"    x = \\\"y\\\".cuda()\"\n   ]\n  }\n ]\n}\n";
        let code = python_code(notebook);
        let told: Vec<(usize, &str)> = code.lines().enumerate().filter(|(_, line)| !line.is_empty()).collect();
        assert_eq!(told, [(12, "pass"), (13, "if a:"), (14, "    x = \"y\".cuda()")]);
    }
}
