//! Call stacks as dumps record them: `File PATH, line N, in FUNCTION, \n CODE`.

use serde::Serialize;

/// Parts of a path that mark a library's file, as opposed to the user's.
const LIBRARIES: [&str; 8] =
    ["site-packages/", "dist-packages/", "/torch/", "/torch_npu/", "/mindspore/", "/msprobe/", "/lib/python", "<"];

/// Folders of frameworks. Their frames belong neither to the model nor to the program, and change with every release and with
/// hooks that do nothing.
const FRAMEWORKS: [&str; 8] = [
    "/torch/",
    "/torch_npu/",
    "/msprobe/",
    "/ptdbg_ascend/",
    "/mindspore/",
    "/msadapter/",
    "/accelerate/",
    "/deepspeed/",
];

/// File of PyTorch in which every module is called, and the functions that do it; a source checkout may lie in any folder.
const MODULE_CALLS: (&str, [&str; 3]) = ("module.py", ["_wrapped_call_impl", "_call_impl", "inner"]);

/// Whether a recorded frame stands in the code of a framework.
pub(crate) fn is_framework_frame(text: &str) -> bool {
    let path = text.split_once(", line ").map_or(text, |(path, _)| path);
    FRAMEWORKS.iter().any(|folder| path.contains(folder))
        || StackFrame::parse(text).is_some_and(|frame| frame.calls_module())
}

/// One frame of a call stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StackFrame {
    /// Path as recorded on the machine of the run.
    pub file: String,
    /// Line number, from 1.
    pub line: u64,
    /// Name of the function.
    pub function: String,
    /// The line's text; empty where it was not recorded.
    pub code: String,
}

impl StackFrame {
    /// Reads a recorded frame.
    pub fn parse(text: &str) -> Option<Self> {
        let (file, rest) = text.trim_start().strip_prefix("File ")?.split_once(", line ")?;
        let (line, rest) = rest.split_once(", in ")?;
        let (function, code) = rest.split_once('\n').unwrap_or((rest, ""));
        Some(Self {
            file: file.trim_matches('"').to_owned(),
            line: line.trim().parse().ok()?,
            function: function.trim().trim_end_matches(',').to_owned(),
            code: code.trim().to_owned(),
        })
    }

    /// The file without its folders.
    pub(crate) fn file_name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file)
    }

    /// The line as `file:line`, without folders.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.file_name(), self.line)
    }

    /// Whether it is the way of PyTorch from the call of a module to its `forward`.
    fn calls_module(&self) -> bool {
        let (file, functions) = MODULE_CALLS;
        self.file_name() == file && functions.contains(&self.function.as_str())
    }

    /// Whether the frame lies in an installed library or in Python itself.
    pub(crate) fn is_library(&self) -> bool {
        if self.calls_module() {
            return true;
        }
        let path = format!("/{}", self.file.replace('\\', "/").trim_start_matches('/'));
        LIBRARIES.iter().any(|part| if *part == "<" { self.file.starts_with('<') } else { path.contains(part) })
    }
}

/// The innermost frame in the user's own code; `stack` is innermost first.
pub(crate) fn innermost_user_frame(stack: &[String]) -> Option<StackFrame> {
    stack.iter().filter_map(|text| StackFrame::parse(text)).find(|frame| !frame.is_library())
}

/// The frame that a reader looks at: the calling line of a library's model, else the innermost one of the user's own code.
pub(crate) fn calling_frame(stack: &[String]) -> Option<StackFrame> {
    innermost_model_frame(stack).or_else(|| innermost_user_frame(stack))
}

/// The innermost frame outside frameworks and Python itself, if it belongs to a library: the calling line of a library's model.
pub(crate) fn innermost_model_frame(stack: &[String]) -> Option<StackFrame> {
    let is_python = |frame: &StackFrame| frame.file.starts_with('<') || !frame.file.contains("-packages/");
    let first = stack.iter().filter(|text| !is_framework_frame(text)).find_map(|text| StackFrame::parse(text))?;
    (first.is_library() && !is_python(&first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_own_frame_is_found() {
        let stack = [
            "File /venv/lib/python3.11/site-packages/torch/nn/functional.py, line 217, in layer_norm, \n return torch.layer_norm(".to_owned(),
            "File /workspace/my torch model/gpt.py, line 46, in forward, \n x = self.ln_1(x)".to_owned(),
            "File train.py, line 9, in <module>, \n main()".to_owned(),
        ];
        let frame = innermost_user_frame(&stack).expect("there is one");
        assert_eq!((frame.file.as_str(), frame.line), ("/workspace/my torch model/gpt.py", 46));
        assert_eq!((frame.function.as_str(), frame.code.as_str()), ("forward", "x = self.ln_1(x)"));
    }

    #[test]
    fn the_line_of_a_model_library_stands_beside_the_own_one() {
        let torch = "File /v/lib/python3.11/site-packages/torch/nn/modules/linear.py, line 125, in forward, \n return F.linear(";
        let model =
            "File /v/lib/python3.11/site-packages/transformers/modeling_llama.py, line 197, in forward, \n a = q @ k";
        let own = "File /w/train.py, line 9, in step, \n model(x)";
        let stack = [torch, model, own].map(str::to_owned);
        assert_eq!(innermost_model_frame(&stack).map(|frame| frame.line), Some(197));
        assert_eq!(innermost_user_frame(&stack).map(|frame| frame.line), Some(9));
        assert_eq!(innermost_model_frame(&[torch, own].map(str::to_owned)), None, "the own line says it");
    }

    #[test]
    fn other_texts_are_no_frames() {
        for text in ["", "File", "File a, line x, in f", "Traceback", "File a, line 99999999999999999999, in f"] {
            assert_eq!(StackFrame::parse(text), None, "{text}");
        }
    }
}
