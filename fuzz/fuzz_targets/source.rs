//! Python source and unified diffs: bytes to a tree that every rule looks at.
#![no_main]

use libfuzzer_sys::fuzz_target;
use precision_gate::judge::source::look_at_module;
use precision_gate::read::source::Module;
use precision_gate::read::source::diff::Diff;

fuzz_target!(|bytes: &[u8]| {
    let _diff = Diff::parse(bytes);
    let bytes = bytes.to_vec();
    // Nesting is bounded to what such a stack holds, as in the gate.
    let thread = std::thread::Builder::new().stack_size(64 << 20);
    let work = thread.spawn(move || {
        let read = Module::parse("fuzz.py", bytes);
        let _looked = look_at_module(&read, true);
    });
    work.expect("a thread").join().expect("no panic");
});
